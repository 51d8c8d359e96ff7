"""Reads the bundles that the command writes with Python's zipfile."""

import pathlib
import subprocess
import tempfile
import unittest
import zipfile

from server import COMMAND, ROOT

FOLDER = ROOT / "tests/fixtures/models/lfm2vl"


class Bundle(unittest.TestCase):
    def test_archive_tools_read_what_we_write(self):
        with tempfile.TemporaryDirectory() as folder:
            bundle = pathlib.Path(folder) / "see.bundle"
            make = [COMMAND, "bundle", "make", FOLDER / "lfm2vl-f16.gguf", "--output", bundle]
            subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
            with zipfile.ZipFile(bundle) as archive:
                self.assertIsNone(archive.testzip())
                names = archive.namelist()
                self.assertEqual(names, ["manifest.json", "lfm2vl-f16.gguf", "mmproj-lfm2vl-f16.gguf"])
                self.assertTrue(all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist()))
                for name in names[1:]:
                    self.assertEqual(archive.read(name), (FOLDER / name).read_bytes())


if __name__ == "__main__":
    unittest.main()
