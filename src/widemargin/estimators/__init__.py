"""The scikit-learn estimators, which `widemargin` loads from their modules on first use."""
