"""A thousand concurrent requests to a server with one slot and a queue of eight."""

import asyncio
import json
import resource
import unittest

from server import MODEL, Server

REQUESTS, QUEUE = 1000, 8


def request(**fields):
    body = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": "Hello!"}], **fields})
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


class Queue(unittest.TestCase):
    def setUp(self):
        # Each request needs a socket here and one in the server, which inherits the limit.
        self.limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = self.limits[1] if self.limits[1] != resource.RLIM_INFINITY else 65536
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, self.limits[1]))
        if most < REQUESTS + 100:
            self.skipTest(f"the system allows {most} sockets")
        self.server = Server("--slots", "1", "--queue", str(QUEUE), "--drain-timeout", "0")
        host, port = self.server.base_url.removeprefix("http://").removesuffix("/v1").split(":")
        self.address = (host, int(port))

    def tearDown(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, self.limits)
        self.server.stop()

    def test_eight_requests_wait_and_the_others_are_asked_to_retry(self):
        asyncio.run(asyncio.wait_for(self.crowd(), 300))

    async def crowd(self):
        endless = {"max_tokens": 8000, "ignore_eos": True}
        running = await self.open(request(**endless, stream=True))
        self.assertIn(b" 200 ", await running[0].readline())
        crowd = await asyncio.gather(*(self.open(request(**endless)) for _ in range(REQUESTS)))
        heads = {asyncio.ensure_future(reader.readuntil(b"\r\n\r\n")): writer for reader, writer in crowd}
        refused, waiting = [], set(heads)
        while len(refused) < REQUESTS - QUEUE:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            refused += [head.result() for head in done]
        for head in refused:
            self.assertIn(b" 429 ", head)
            self.assertIn(b"\r\nretry-after: 1\r\n", head)
        self.assertEqual(len(waiting), QUEUE)
        for head in waiting:
            head.cancel()
        for writer in [running[1], *heads.values()]:
            writer.close()
        # A new request is answered once the disconnected ones are removed from the queue.
        for _ in range(1000):
            reader, writer = await self.open(request(max_tokens=4))
            status = await reader.readline()
            writer.close()
            if b" 429 " not in status:
                break
        self.assertIn(b" 200 ", status)

    async def open(self, sent):
        reader, writer = await asyncio.open_connection(*self.address)
        writer.write(sent)
        await writer.drain()
        return reader, writer


if __name__ == "__main__":
    unittest.main()
