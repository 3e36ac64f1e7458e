"""What a local Kafka broker runs from: its jars, its process, its errors. ``stream_app.localbroker.broker`` runs it."""
