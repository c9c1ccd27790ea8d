"""The lab: a local page for placing points and watching learners learn."""
