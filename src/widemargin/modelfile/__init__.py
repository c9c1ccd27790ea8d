"""Model files: arrays and a description in one file, protected by a digest. No pickle."""
