"""Environment variables that every process of ours needs before the heavy imports."""

from __future__ import annotations

import logging
import os

TELEMETRY_OFF = {
    "DO_NOT_TRACK": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}
_QUIET = {
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    "PREFECT_CLI_COLORS": "false",
}


def prepare_environment() -> None:
    """No telemetry, and no chatter of libraries on the terminal unless the user asks for it.

    The commands report failures in one line; Prefect's page has the log.
    """
    os.environ.update(TELEMETRY_OFF)
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)


def silence_libraries() -> None:
    """Let no library log anything any more; Prefect's own threads do not heed `logging.disable`."""
    logging.disable(logging.CRITICAL)
    silence_orchestrator()


def silence_orchestrator() -> None:
    """Let Prefect log nothing any more: where its server is gone, its threads report each thing that they cannot tell it."""
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if name.startswith("prefect.") and isinstance(logger, logging.Logger):
            logger.disabled = True
