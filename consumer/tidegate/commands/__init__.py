"""What a group file is used for: `tidegate run`, `tidegate rewind`, `tidegate deadletters`."""
