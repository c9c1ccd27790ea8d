"""SVM solvers: dual coordinate descent, Newton steps, SMO, and the recheck."""
