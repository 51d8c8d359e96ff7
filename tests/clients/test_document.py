"""Schemathesis: generates valid and invalid requests from the server's OpenAPI document, and validates the replies."""

import os
import pathlib
import subprocess
import sys
import unittest

from server import Server

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


class Document(unittest.TestCase):
    def test_the_server_matches_its_document(self):
        # Hundreds of questions with long texts, which the document allows, would keep the model busy for minutes.
        server = Server("--drain-timeout", "0", "--max-body", "1")
        try:
            address = server.base_url.removesuffix("/v1")
            command = [pathlib.Path(sys.executable).with_name("schemathesis"), "run", f"{address}/openapi.json"]
            options = ["--url", address, "--seed", "1", "--phases", "coverage", "--checks", CHECKS, "--no-color"]
            options += ["--request-timeout", "120"]  # the default of ten seconds is too short on a busy machine
            environment = {**os.environ, "SCHEMATHESIS_HOOKS": "hooks"}
            ran = subprocess.run(
                [*command, *options], capture_output=True, text=True, env=environment, cwd=pathlib.Path(__file__).parent
            )
            self.assertEqual(ran.returncode, 0, ran.stdout[-6000:] + ran.stderr[-2000:])
            self.assertIn("24 passed", ran.stdout)
        finally:
            server.stop()


if __name__ == "__main__":
    unittest.main()
