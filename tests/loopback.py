"""One answer of an HTTP server on loopback."""

from contextlib import closing
from http.client import HTTPConnection, HTTPResponse

from tests.patience import ANSWER_SECONDS


def ask(port: int, path: str, method: str = "GET") -> tuple[HTTPResponse, bytes]:
    """Return the server's answer, and its body."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer, answer.read()
