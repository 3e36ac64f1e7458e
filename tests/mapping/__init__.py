"""Files as people have them, and the events that they represent."""
