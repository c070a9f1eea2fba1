"""Makes a virtual environment for each system: ``environments.py FOLDER [SYSTEM ...] [--torch torch==2.13.0]``.

FOLDER/SYSTEM gets the versions below. `ours`, `lightgbm`, `forest`, `tuned_forest` and `constant` run in the
interpreter of the harness. auto-sklearn needs Python 3.8, which ``--python`` names.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from pathlib import Path

OWN = ("ours", "lightgbm", "forest", "tuned_forest", "constant")
TORCH = ("autogluon", "lightautoml")
REQUIREMENTS = {
    "autogluon": ["autogluon.tabular[lightgbm,catboost,xgboost,tabm]==1.6.3"],
    "flaml": ["flaml[automl]==2.7.0", "lightgbm", "xgboost", "catboost"],
    "h2o": ["h2o==3.46.0.12", "pandas<3"],
    "lightautoml": ["lightautoml==0.4.2"],
    "mljar": ["mljar-supervised==1.3.2"],
    "tpot": ["tpot==1.1.0"],
    "gama": ["gama==23.0.0.post1", "numpy<2", "pandas<2.2", "scipy<1.12"],
    "autosklearn": ["auto-sklearn==0.15.0", "scikit-learn==0.24.2", "numpy==1.24.4", "pandas<2"],
}


def interpreter(folder: Path, system: str) -> str:
    """That of a system."""
    return sys.executable if system in OWN else str(folder / system / "bin" / "python")


def make(folder: Path, system: str, *, python: str, torch: str) -> None:
    """Make the environment of a system, if it is not there."""
    if Path(interpreter(folder, system)).exists():
        return
    if python == sys.executable:
        venv.create(folder / system, with_pip=True)
    else:
        subprocess.run([python, "-m", "venv", str(folder / system)], check=True)
    install = [interpreter(folder, system), "-m", "pip", "install", "--quiet"]
    pins = [torch] if torch and system in TORCH else []
    if pins:
        subprocess.run([*install, *pins], check=True)
    subprocess.run([*install, *REQUIREMENTS[system], *pins], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("systems", nargs="*", default=sorted(REQUIREMENTS))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--torch", default="", help="a build for processors, such as torch==2.13.0")
    arguments = parser.parse_args()
    for system in arguments.systems:
        make(arguments.folder, system, python=arguments.python, torch=arguments.torch)


if __name__ == "__main__":
    main()
