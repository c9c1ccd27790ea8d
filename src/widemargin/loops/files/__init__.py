"""Files: numbers, svmlight and VW lines."""
