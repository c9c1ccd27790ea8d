"""The quality of predictions: measures, intervals, worst mistakes."""
