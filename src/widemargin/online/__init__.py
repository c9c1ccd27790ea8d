"""Linear learners: rules, orders, state, the mistake log, and the pass over examples."""
