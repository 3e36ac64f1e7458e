# ruff: noqa: INP001 (a script, part of no package)
"""An example receiver of alerts: prints a line for each alert, with the page that says what to do.

``receiver.py [PORT]``. It shows that alerts from Alertmanager get through; replace it by a pager, a chat or a mailbox.
"""

import json
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver(BaseHTTPRequestHandler):
    """Answers the messages that Alertmanager's ``webhook_configs`` sends (version 4)."""

    def do_POST(self) -> None:
        """Print the alerts of one message; answer 400 if it is invalid."""
        try:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            lines = [
                f"{self.path.strip('/')} {alert['status']}: {alert['labels']['alertname']}: "
                f"{alert['annotations']['summary']} {alert['annotations']['runbook_url']}"
                for alert in message["alerts"]
            ]
        except (KeyError, TypeError, ValueError):
            self.send_error(400)
            return
        print(*lines, sep="\n", flush=True)
        self.send_response(204)
        self.end_headers()

    def do_GET(self) -> None:
        """Say that it is there."""
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing per request, because the alerts are already printed."""


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    ThreadingHTTPServer(("", int(sys.argv[1]) if sys.argv[1:] else 8080), Receiver).serve_forever()
