"""Whether a hyperplane separates two classes: the steps that decide it, and the proof."""
