"""What the site needs beyond Sphinx: loops beside their pseudocode, drawings, and shell help."""
