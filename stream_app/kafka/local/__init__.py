"""What a local Kafka broker runs from and as: its jars, its process, its errors. ``stream_app.kafka.broker`` runs it."""
