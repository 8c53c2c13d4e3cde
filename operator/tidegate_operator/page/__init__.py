"""The console: the groups and how they are, for people; live, and read only."""
