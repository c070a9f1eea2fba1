"""The process behind `LocalServer`: one Prefect API server on an inherited socket.

Run as ``python -m automl_flows.services.server_process SOCKET_FD [LIFELINE_FD]``. The lifeline is the read
end of a pipe whose write end only the driver holds: end of file means that the driver is gone,
however it died, and the server stops. (`PR_SET_PDEATHSIG` would also fire when the *thread* that
started the server ends.)
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time

GRACE_SECONDS = 3.0
"""For an orderly end after its starter has gone."""


def main(arguments: list[str]) -> None:
    """Serve until SIGTERM or until the lifeline breaks."""
    if len(arguments) > 1:
        watch = threading.Thread(target=_follow, args=(int(arguments[1]),), daemon=True)
        watch.start()
    listener = socket.socket(fileno=int(arguments[0]))

    import uvicorn
    from prefect.server.api.server import create_app

    from automl_flows.services.server_history import add_history

    app = create_app(final=True)
    add_history(app)
    config = uvicorn.Config(
        app,
        lifespan="on",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run(sockets=[listener])


def _follow(lifeline: int) -> None:
    while os.read(lifeline, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
