"""The subject in the scanner: template, brain mask and noise parameters."""

import ast
import json
import os
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field, model_validator

from bciigl.base.errors import BciiglError, printable
from bciigl.base.files import written_folder
from bciigl.base.json_files import read_json
from bciigl.brain.images import read_image, read_mask, voxel_size, write_image
from bciigl.protocol.model import NoiseSources, Section, field

BUILT_IN = "brainiak"
BRAIN_SOURCES = dict(arma="auto_reg_sigma", physiological="physiological_sigma", task="task_sigma")
"""Sources that fmrisim mixes into the brain's fluctuation, and their weights in the mixture."""

FEWEST_BRAIN_VOXELS = 100
"""Voxels that fmrisim samples to estimate autocorrelation; anything smaller is no brain."""

SYSTEM_SHARE = 0.5
"""Share of the SFNR's and the SNR's variance that fmrisim gives to the scanner by default."""

# The header of brainiak's template does not say where the head is: it has no origin, and the second
# axis grows towards the back of the head, not to the front. These numbers put the default region
# where an affine registration to MNI space finds it, at about (-38, -47, 45) mm. Left and right
# cannot be told from the file; here the first axis grows towards the right.
_TEMPLATE_AFFINE = np.array(
    [[3.0, 0, 0, -81.5], [0, -3.0, 0, 77.5], [0, 0, 3.0, -46.5], [0, 0, 0, 1]]
)

# From the template's voxels to MNI mm: of the affine registrations to MNI152 (2009a, symmetric)
# that leave the default region where it is, the one with the most mutual information. The head is
# tilted and smaller than MNI's, so the affine above is MNI's near that region only.
_TEMPLATE_REGISTRATION = np.array(
    [
        [3.305, 0.041, 0.039, -88.8135],
        [-0.053, -3.283, 0.523, 74.0615],
        [0.121, 0.472, 3.486, -82.6655],
        [0, 0, 0, 1],
    ]
)


class SubjectError(BciiglError):
    """A subject that cannot be used."""


Coefficient = Annotated[float, Field(gt=-2, lt=2)]
Coefficients = Annotated[tuple[Coefficient, ...], Field(min_length=1, max_length=10, strict=False)]
Ratio = Annotated[float, Field(ge=0.01, le=1e6)]
Weight = Annotated[float, Field(ge=0, le=1e6)]


class NoiseParameters(Section):
    """A subject's noise, in fmrisim's terms (Ellis et al. 2020)."""

    snr: Ratio = field(..., "ratio", "mean brain signal to the scanner's spatial noise")
    sfnr: Ratio = field(..., "ratio", "mean brain signal to its fluctuation in time")
    max_activity: float = field(
        ..., "scanner units", "signal where the template is 1", ge=1e-9, le=1e12
    )
    # fmrisim turns the FWHM into an exponent by a logarithm that needs more than 0.368.
    fwhm: float = field(..., "mm", "smoothness of the noise", gt=0.4, le=100)
    auto_reg_sigma: Weight = field(1.0, "weight", "autoregressive share of the fluctuation")
    auto_reg_rho: Coefficients = field((0.5,), "coefficients", "autoregression")
    ma_rho: Coefficients = field((0.0,), "coefficients", "moving average")
    physiological_sigma: Weight = field(0.0, "weight", "heart beat and breathing")
    task_sigma: Weight = field(0.0, "weight", "noise that comes with events")
    drift_sigma: float = field(0.0, "scanner units", "SD of the scanner's drift", ge=0, le=1e12)

    @model_validator(mode="after")
    def _refuse_what_explodes(self) -> "NoiseParameters":
        if len(self.ma_rho) > len(self.auto_reg_rho):
            raise ValueError("ma_rho should have no more coefficients than auto_reg_rho")
        roots = np.roots([1.0, *(-each for each in self.auto_reg_rho)])
        if np.abs(roots).max(initial=0) >= 1:
            raise ValueError(f"auto_reg_rho {list(self.auto_reg_rho)} is not stationary")
        return self

    def only(self, sources: NoiseSources) -> "NoiseParameters":
        """Return these parameters with the weight of each source that is off at 0.

        The weights are shares, as in fmrisim: those that are left make up the whole fluctuation.
        """
        names = {**BRAIN_SOURCES, "drift": "drift_sigma"}
        off = {name: 0.0 for source, name in names.items() if not getattr(sources, source)}
        return self.model_copy(update=off)


class _Content(BaseModel):
    """What subject.json says; notes on where the subject comes from are ignored."""

    name: str
    noise: NoiseParameters


@dataclass(frozen=True, eq=False)
class Subject:
    """A head in the scanner."""

    name: str
    template: np.ndarray  # mean image, (x, y, z), scaled so that its maximum is 1
    mask: np.ndarray  # which voxels are brain, bool (x, y, z)
    affine: np.ndarray  # from voxel indices to mm, (4, 4): right, anterior, superior
    noise: NoiseParameters
    registration: np.ndarray | None = None  # from voxel indices to MNI mm, (4, 4), if not `affine`

    @property
    def mni_affine(self) -> np.ndarray:
        """From voxel indices to MNI mm, (4, 4); of a recording: to the mm of its own space."""
        return self.affine if self.registration is None else self.registration

    @property
    def shape(self) -> tuple[int, ...]:
        """Voxels along each axis."""
        return self.template.shape

    @property
    def voxel_size(self) -> np.ndarray:
        """Edge lengths of a voxel, in mm."""
        return voxel_size(self.affine)

    @cached_property
    def base(self) -> np.ndarray:
        """Mean image in scanner units, which no noise weight touches."""
        return self.template * self.noise.max_activity

    @cached_property
    def mean_signal(self) -> float:
        """Mean of the brain, in scanner units."""
        return float(self.base[self.mask].mean())

    @property
    def brain_sd(self) -> float:
        """SD in time of the brain's own fluctuation, in scanner units, the same in every voxel."""
        return self.mean_signal / self.noise.sfnr

    @property
    def system_sd(self) -> float:
        """SD in time of the scanner's white noise, in scanner units."""
        return self.brain_sd * SYSTEM_SHARE**0.5

    @property
    def offset_sd(self) -> float:
        """SD over voxels of the scanner's static offset, in scanner units."""
        return self.mean_signal / self.noise.snr * (1 - SYSTEM_SHARE) ** 0.5

    @property
    def noise_sd(self) -> float:
        """SD in time of the full-strength noise of a voxel, in scanner units: the unit of CNR.

        The static offset does not fluctuate and motion is the protocol's, so neither counts.
        """
        on = any(getattr(self.noise, weight) > 0 for weight in BRAIN_SOURCES.values())
        brain = self.brain_sd if on else 0.0
        return float(np.sqrt(brain**2 + self.system_sd**2 + self.noise.drift_sigma**2))

    def save(self, folder: str | os.PathLike, **about: Any) -> None:
        """Write the subject as a new folder: template.nii.gz, mask.nii.gz and subject.json.

        What it is told `about` the subject is noted in subject.json.
        """
        with written_folder(folder) as temporary:
            self.write_files(temporary, **about)

    def write_files(self, folder: Path, **about: Any) -> None:
        """Write the subject's files into a folder that exists; `save` makes one."""
        write_image(folder / "template.nii.gz", self.template.astype("f4"), self.affine)
        write_image(folder / "mask.nii.gz", self.mask.astype("u1"), self.affine)
        content = {"name": self.name, "noise": self.noise.model_dump(), "about": about}
        (folder / "subject.json").write_text(json.dumps(content, indent=2) + "\n")


def load_subject(name: str, folder: str | os.PathLike = ".") -> Subject:
    """Return the subject that a protocol names.

    Parameters
    ----------
    name : str
        ``"brainiak"`` for the one brainiak ships, or the path of a folder that
        `bciigl subject fit` wrote.
    folder : path-like
        What a relative path is relative to: the protocol's folder.

    Raises
    ------
    SubjectError
        If the folder is not a subject.
    """
    return _built_in() if name == BUILT_IN else _from_folder(Path(folder) / name)


@lru_cache(maxsize=1)
def _built_in() -> Subject:
    # Its files are read without importing brainiak, which takes seconds.
    spec: Any = find_spec("brainiak")
    folder = Path(spec.submodule_search_locations[0]) / "utils" / "sim_parameters"
    volume = read_image(folder / "sub_template.nii.gz").data
    template = volume / volume.max()
    noted = ast.literal_eval((folder / "sub_noise_dict.txt").read_text())
    del noted["voxel_size"]
    # fmrisim.mask_brain puts the threshold between 58 and 59 of the 254 values of its 8 bits.
    mask = template > 58.5 / 254
    noise = NoiseParameters(**noted)
    return Subject(BUILT_IN, template, mask, _TEMPLATE_AFFINE, noise, _TEMPLATE_REGISTRATION)


def _from_folder(folder: Path) -> Subject:
    files = ("template.nii.gz", "mask.nii.gz", "subject.json")
    missing = [name for name in files if not (folder / name).is_file()]
    if (folder / "windows.npz").exists():
        raise SubjectError(
            f"{folder}: is a recorded subject, without a model of its brain; experiments with it "
            "are loaded from a protocol file, which takes its times from there"
        )
    if missing:
        what = "has no " + " and no ".join(missing) if folder.is_dir() else "no such folder"
        raise SubjectError(f"{folder}: {what}; bciigl subject fit writes subjects")
    template, affine, _ = read_image(folder / "template.nii.gz")
    content = read_json(folder / "subject.json", _Content, error=SubjectError)
    if template.ndim != 3:
        raise SubjectError(f"{folder}/template.nii.gz: should be 3-D, got {template.ndim}-D")
    if not ((template >= 0) & (template <= 1.1)).all():
        raise SubjectError(f"{folder}/template.nii.gz: values should be between 0 and 1")
    brain = read_mask(folder / "mask.nii.gz", template.shape, affine, "template.nii.gz")
    if brain.sum() < FEWEST_BRAIN_VOXELS or not template[brain].any():
        wanted = f"at least {FEWEST_BRAIN_VOXELS} voxels with signal"
        raise SubjectError(f"{folder}/mask.nii.gz: should hold {wanted}, got {brain.sum()}")
    return Subject(printable(content.name)[:80], template, brain, affine, content.noise)
