"""Tests of `stream_app/kafka/client`: topics, codecs, rights and silent brokers; most need a real broker."""
