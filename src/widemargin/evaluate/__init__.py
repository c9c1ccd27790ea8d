"""How good predictions are: measures, intervals, worst mistakes."""
