"""What every training shares: epochs, stops, history, progress, checkpoints."""
