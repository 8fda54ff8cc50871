// Exists to own the one precompiled header that every target with torch headers reuses.
