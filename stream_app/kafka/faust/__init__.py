"""Everything that uses Faust: app, consumer, changelog recovery and tables; nothing else imports it."""
