"""One member's life: events in, commands out. Pure. Start with member.py."""
