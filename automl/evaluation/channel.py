"""Messages between the driver and its workers: pickles with large arrays sent out of band.

One message is a header (magic, number of buffers, length of the pickle), the lengths of the
buffers, the pickle and the buffers. Arrays above 64 KiB are never copied into the pickle.
"""

from __future__ import annotations

import contextlib
import pickle
import socket
import struct
from collections.abc import Generator, Iterator
from typing import Any

_HEADER = struct.Struct("!4sIQ")
_MAGIC = b"aml1"
_OUT_OF_BAND_BYTES = 65_536
"""Smaller arrays travel within the pickle: to copy them costs no more than a message of their own (by
judgement)."""
_MOST_BUFFERS = 1_000_000
"""A header that names more is not one of ours; nothing is allocated by its word."""
_MOST_BYTES = 1 << 38

_Frame = bytes | bytearray | memoryview

UNSTORED = "unstored"
"""Status by which a worker says that the disk refused what it wrote."""


class ChannelClosedError(Exception):
    """The other end is gone, or what it sends is not a message."""


class MessageError(Exception):
    """A whole message arrived, but its content cannot be rebuilt here; the channel still works."""


def encode(message: object) -> list[_Frame]:
    """Frames of one message; raises whatever the pickling of `message` raises."""
    buffers: list[memoryview] = []

    def keep_inside(buffer: pickle.PickleBuffer) -> bool:
        try:
            view = buffer.raw()
        except BufferError:  # not contiguous
            return True
        if view.nbytes < _OUT_OF_BAND_BYTES:
            return True
        buffers.append(view)
        return False

    body = pickle.dumps(message, protocol=5, buffer_callback=keep_inside)
    lengths = struct.pack(f"!{len(buffers)}Q", *(view.nbytes for view in buffers))
    return [_HEADER.pack(_MAGIC, len(buffers), len(body)) + lengths + body, *buffers]


def send(channel: socket.socket, frames: list[_Frame]) -> None:
    """Send the frames of one message; blocks until all is handed to the kernel.

    Raises
    ------
    OSError
        If the other end is gone.
    """
    for frame in frames:
        channel.sendall(frame)


def receive(channel: socket.socket) -> Any:
    """Next message of a blocking channel.

    Raises
    ------
    ChannelClosedError
        If the channel ends or is garbled.
    MessageError
        If the message cannot be rebuilt.
    """
    reader = MessageReader(channel)
    return next(reader.read(wait=True))


class MessageReader:
    """Messages as they arrive, without ever waiting for the rest of one.

    Parameters
    ----------
    channel
        Stream socket; the reader does not own it.
    """

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._parser = self._message()
        self._missing = memoryview(next(self._parser))

    def read(self, *, wait: bool = False) -> Iterator[Any]:
        """Yield every message that is complete by now (with `wait`: as they come, without end).

        Raises
        ------
        ChannelClosedError
            If the channel ends or is garbled.
        MessageError
            If a message cannot be rebuilt; reading can go on afterwards.
        """
        flags = 0 if wait else socket.MSG_DONTWAIT
        while True:
            while not self._missing:
                message = self._advance()
                if message is not None:
                    yield message[0]
            try:
                count = self._channel.recv_into(self._missing, 0, flags)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                raise ChannelClosedError(str(error)) from error
            if count == 0:
                raise ChannelClosedError("end of the channel")
            self._missing = self._missing[count:]

    def _advance(self) -> tuple[Any] | None:
        """Take the filled buffer; the message in a tuple when it was the last one."""
        message = None
        try:
            filled = next(self._parser)
        except StopIteration as stop:
            self._parser = self._message()
            filled = next(self._parser)
            message = stop.value
        self._missing = memoryview(filled)
        if isinstance(message, MessageError):
            raise message
        return (message,) if message is not None else None

    @staticmethod
    def _message() -> Generator[bytearray, None, Any]:
        """Yield each buffer to be filled; return the message."""
        header = bytearray(_HEADER.size)
        yield header
        magic, n_buffers, length = _HEADER.unpack(header)
        if magic != _MAGIC or n_buffers > _MOST_BUFFERS:
            raise ChannelClosedError("not a message")
        packed = bytearray(8 * n_buffers)
        yield packed
        lengths = struct.unpack(f"!{n_buffers}Q", packed)
        if length + sum(lengths) > _MOST_BYTES:
            raise ChannelClosedError("a message of impossible length")
        parts: list[bytearray] = []
        for size in (length, *lengths):
            try:
                parts.append(bytearray(size))
            except MemoryError as error:
                raise ChannelClosedError(f"no memory for a message of {size} bytes") from error
            yield parts[-1]
        try:
            return pickle.loads(parts[0], buffers=parts[1:])
        except Exception as error:  # noqa: BLE001 - any class rebuilds itself here; handed on
            return MessageError(f"{type(error).__name__}: {error}")


def close(channel: socket.socket | None) -> None:
    """Close a socket that may be closed or absent."""
    if channel is not None:
        with contextlib.suppress(OSError):
            channel.close()
