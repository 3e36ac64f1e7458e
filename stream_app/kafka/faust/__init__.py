"""What Faust costs and needs: app, consumer, changelog recovery and tables; nothing else imports Faust."""
