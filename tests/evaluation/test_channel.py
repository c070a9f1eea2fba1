"""Messages arrive whole in whatever pieces they come, and garbage is recognized."""

from __future__ import annotations

import itertools
import pickle
import socket
import struct
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.evaluation.channel import (
    ChannelClosedError,
    MessageError,
    MessageReader,
    encode,
    receive,
    send,
)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def flat(message: object) -> bytes:
    return b"".join(bytes(frame) for frame in encode(message))


@given(cuts=st.lists(st.integers(0, 200_000), max_size=6))
@settings(max_examples=25, deadline=None)
def test_messages_survive_any_fragmentation(cuts: list[int]) -> None:
    array = np.arange(9_000.0).reshape(90, 100)
    sent = [("part", array), ("part", array[:, ::2]), ("part", np.asfortranarray(array)), ("d", {})]
    data = b"".join(map(flat, sent))
    one, other = socket.socketpair()
    got = []
    with one, other:
        reader = MessageReader(other)
        edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
        for start, end in itertools.pairwise(edges):
            for piece in range(start, end, 50_000):
                one.sendall(data[piece : min(end, piece + 50_000)])
                got.extend(reader.read())
    assert [kind for kind, _ in got] == ["part", "part", "part", "d"]
    for (_, expected), (_, values) in zip(sent[:3], got[:3], strict=True):
        np.testing.assert_array_equal(values, expected)
        assert values.flags.writeable


def test_a_large_array_is_sent_out_of_band() -> None:
    frames = encode(("part", np.zeros(100_000)))
    assert len(frames) == 2
    assert len(frames[0]) < 1_000


@pytest.mark.parametrize(
    "garbage",
    [
        b"x" * 100,
        struct.pack("!4sIQ", b"aml1", 1 << 31, 5),
        struct.pack("!4sIQ", b"aml1", 0, 1 << 60),
    ],
)
def test_garbage_closes_the_channel(
    pair: tuple[socket.socket, socket.socket], garbage: bytes
) -> None:
    pair[0].sendall(garbage)
    with pytest.raises(ChannelClosedError):
        list(MessageReader(pair[1]).read())


def test_a_message_that_cannot_be_rebuilt_costs_only_itself(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    body = pickle.dumps(len, protocol=0).replace(b"len", b"nil")
    pair[0].sendall(flat(1) + struct.pack("!4sIQ", b"aml1", 0, len(body)) + body + flat(2))
    reader = MessageReader(pair[1])
    messages = reader.read()
    assert next(messages) == 1
    with pytest.raises(MessageError, match="nil"):
        next(messages)
    assert list(reader.read()) == [2]


def test_the_end_of_a_channel_comes_after_its_messages(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    send(pair[0], encode("last"))
    pair[0].close()
    messages = MessageReader(pair[1]).read()
    assert next(messages) == "last"
    with pytest.raises(ChannelClosedError):
        next(messages)


def test_receive_waits_for_a_whole_message(pair: tuple[socket.socket, socket.socket]) -> None:
    array = np.arange(1_000_000.0)
    thread = threading.Thread(target=send, args=(pair[0], encode(array)))
    thread.start()
    np.testing.assert_array_equal(receive(pair[1]), array)
    thread.join()
    pair[0].close()
    with pytest.raises(ChannelClosedError):
        receive(pair[1])
