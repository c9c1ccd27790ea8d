"""Cross-validation, and the search for C and the number of epochs, without leakage."""
