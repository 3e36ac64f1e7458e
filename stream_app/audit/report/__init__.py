"""What an audit says: the report as text, JSON and HTML, and the plots on it."""
