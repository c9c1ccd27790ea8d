"""Every compiled loop: arrays and numbers in, arrays and numbers out."""
