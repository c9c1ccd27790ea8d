"""The lab: a local page on which points are placed and learners are watched as they learn."""
