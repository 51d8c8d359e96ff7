"""A thousand concurrent requests to a server with one slot and a queue of eight."""

import asyncio
import json
import re
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
        endless = request(max_tokens=8000, ignore_eos=True)
        crowd = await asyncio.gather(*(self.open(endless) for _ in range(REQUESTS)))
        # A reply may end before all requests have come; then one more gets into the queue.
        ended, running, waiting = 0, 0, 0
        while ended + running + waiting < REQUESTS:
            ended, running, waiting = await self.counts()
            self.assertLessEqual(running, 1)
            self.assertLessEqual(waiting, QUEUE)
        heads = {asyncio.ensure_future(reader.readuntil(b"\r\n\r\n")) for reader, _ in crowd}
        refused = []
        while len(heads) > REQUESTS - ended:
            done, heads = await asyncio.wait(heads, return_when=asyncio.FIRST_COMPLETED)
            refused += [head.result() for head in done if b" 200 " not in head.result()]
        for head in refused:
            self.assertIn(b" 429 ", head)
            self.assertIn(b"\r\nretry-after: 1\r\n", head)
        self.assertLess(0, len(refused))
        self.assertLessEqual(len(refused), REQUESTS - QUEUE - 1)
        for head in heads:
            head.cancel()
        for _, writer in crowd:
            writer.close()
        # The disconnected requests leave the queue, and a new one is answered.
        while running + waiting:
            _, running, waiting = await self.counts()
        reader, writer = await self.open(request(max_tokens=4))
        self.assertIn(b" 200 ", await reader.readline())
        writer.close()

    async def counts(self):
        """The numbers of requests for a reply that have ended, that run, and that wait."""
        reader, writer = await self.open(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        text = (await reader.read()).decode()
        writer.close()
        sums = [r'requests_total\{route="[^"]*/chat/completions",status="\d+"\}', "requests_running", "requests_waiting"]
        return [sum(map(int, re.findall(rf"^causerie_{name} (\d+)$", text, re.MULTILINE))) for name in sums]

    async def open(self, sent):
        reader, writer = await asyncio.open_connection(*self.address)
        writer.write(sent)
        await writer.drain()
        return reader, writer


if __name__ == "__main__":
    unittest.main()
