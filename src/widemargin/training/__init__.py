"""What all trainings share: epochs, stopping, history, progress, checkpoints."""
