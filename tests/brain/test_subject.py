"""Subjects: the built-in one, and folders."""

import json
from dataclasses import replace

import numpy as np
import pytest
from heads import head

from bciigl.base.errors import BciiglError
from bciigl.base.seeds import Seed
from bciigl.brain import load_subject
from bciigl.brain.images import write_image
from bciigl.brain.noise import ExactNoise, RunPlan
from bciigl.brain.region import find_region
from bciigl.brain.subject import NoiseParameters, SubjectError
from bciigl.protocol.model import Cube, NoiseSources


def test_built_in_mask_and_template_are_fmrisim_s():
    from brainiak.utils import fmrisim  # takes seconds

    subject = load_subject("brainiak")
    mask, template = fmrisim.mask_brain(subject.template, mask_self=True)
    np.testing.assert_array_equal(subject.mask, mask > 0)
    np.testing.assert_allclose(subject.template, template, atol=1e-12)
    assert subject.mask.sum() == 51_133


def test_built_in_noise_is_stated_in_full():
    noise = load_subject("brainiak").noise
    assert noise.sfnr == pytest.approx(70.7, abs=0.05)
    assert noise.snr == pytest.approx(69.5, abs=0.05)
    assert noise.fwhm == pytest.approx(5.66, abs=0.005)
    assert noise.auto_reg_sigma == pytest.approx(0.395, abs=0.0005)
    assert noise.drift_sigma == pytest.approx(0.605, abs=0.0005)
    assert (noise.auto_reg_rho, noise.ma_rho) == ((0.5,), (0.0,))


def test_built_in_axes_grow_right_front_up():
    subject = load_subject("brainiak")
    assert subject.affine[0, 0] > 0 > subject.affine[1, 1]
    # The lowest slices of the brain hold the cerebellum, which lies at the back.
    brain = np.argwhere(subject.mask) @ subject.affine[:3, :3].T + subject.affine[:3, 3]
    lowest = brain[brain[:, 2] < np.percentile(brain[:, 2], 8)]
    assert lowest[:, 1].mean() < brain[:, 1].mean() - 10


def test_noise_sd_is_composed_as_fmrisim_composes_it():
    subject = head()
    noise = subject.noise
    mean = (subject.template * noise.max_activity)[subject.mask].mean()
    variance = 1.5 * (mean / noise.sfnr) ** 2 + noise.drift_sigma**2
    assert subject.noise_sd == pytest.approx(variance**0.5)
    assert subject.offset_sd == pytest.approx(mean / noise.snr / 2**0.5)
    silent = replace(subject, noise=noise.model_copy(update=dict.fromkeys(
        ["auto_reg_sigma", "physiological_sigma", "task_sigma"], 0.0)))  # fmt: skip
    variance = 0.5 * (mean / noise.sfnr) ** 2 + noise.drift_sigma**2
    assert silent.noise_sd == pytest.approx(variance**0.5)


def test_sources_that_are_off_have_no_weight():
    noise = head().noise.only(NoiseSources(arma=False, drift=False))
    assert (noise.auto_reg_sigma, noise.drift_sigma) == (0, 0)
    assert (noise.physiological_sigma, noise.task_sigma) == (0.3, 0.2)


def test_subject_survives_its_folder(tmp_path):
    head().save(tmp_path / "me", source="nowhere")
    found = load_subject("me", tmp_path)
    np.testing.assert_allclose(found.template, head().template, atol=1e-6)
    np.testing.assert_array_equal(found.mask, head().mask)
    np.testing.assert_allclose(found.affine, head().affine)
    assert (found.noise, found.name) == (head().noise, "small")
    assert json.loads((tmp_path / "me/subject.json").read_text())["about"] == {"source": "nowhere"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["me"]


def test_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "me").mkdir()
    head().save(tmp_path / "me")  # empty: taken
    before = (tmp_path / "me/subject.json").read_bytes()
    with pytest.raises(FileExistsError):
        head(snr=3.0).save(tmp_path / "me")
    assert (tmp_path / "me/subject.json").read_bytes() == before


def broken_json(change):
    def edit(folder):
        content = json.loads((folder / "subject.json").read_text())
        change(content)
        (folder / "subject.json").write_text(json.dumps(content))

    return edit


def image(name, change):
    def edit(folder):
        data = head().mask.astype("u1") if name == "mask" else head().template.astype("f4")
        write_image(folder / f"{name}.nii.gz", change(data), head().affine)

    return edit


BROKEN = {
    "no mask.nii.gz": lambda folder: (folder / "mask.nii.gz").unlink(),
    "no subject.json": lambda folder: (folder / "subject.json").unlink(),
    "subject.json: is not JSON": lambda folder: (folder / "subject.json").write_text("{"),
    "nested more than 50 levels": lambda folder: (folder / "subject.json").write_text(
        "[[" * 99_999
    ),
    "noise: is required": broken_json(lambda content: content.pop("noise")),
    "noise.snr: is required": broken_json(lambda content: content["noise"].pop("snr")),
    "noise.sfnr: should be greater than or equal to 0.01, got -1": broken_json(
        lambda content: content["noise"].update(sfnr=-1.0)
    ),
    "noise.fwhm": broken_json(lambda content: content["noise"].update(fwhm=0.1)),
    "noise: auto_reg_rho \\[1.0\\] is not stationary$": broken_json(
        lambda content: content["noise"].update(auto_reg_rho=[1.0])
    ),
    "no more coefficients": broken_json(lambda content: content["noise"].update(ma_rho=[0.1, 0.1])),
    "noise.speed: unknown key": broken_json(lambda content: content["noise"].update(speed=3)),
    "at least 100 voxels with signal, got 0": image("mask", lambda data: 0 * data),
    "on the grid of template.nii.gz": image("mask", lambda data: data[1:]),
    "between 0 and 1": image("template", lambda data: 1000 * data),
    "values should be": image("template", lambda data: np.where(data > 0.5, np.nan, data)),
    "truncated or damaged": lambda folder: (folder / "template.nii.gz").write_bytes(
        (folder / "template.nii.gz").read_bytes()[:-2000]
    ),
}


def test_broken_folder_is_refused_with_the_reason(tmp_path):
    for number, (message, damage) in enumerate(BROKEN.items()):
        folder = tmp_path / str(number)
        head().save(folder)
        damage(folder)
        with pytest.raises(BciiglError, match=message):
            load_subject(folder)


def test_extreme_parameters_give_finite_frames():
    for extreme in [{"snr": 0.01, "sfnr": 0.01}, {"drift_sigma": 1e12}, {"auto_reg_sigma": 1e6}]:
        subject = head(**extreme)
        region = find_region(Cube(center=(8, 10, 8), size=3), subject)
        plan = RunPlan(1.5, np.zeros(20, bool))
        engine = ExactNoise(subject, region, NoiseSources())
        assert np.isfinite(engine.run(plan, Seed(0))).all()
        assert all(np.isfinite(volume).all() for volume in engine.volumes(plan, Seed(0)))


def test_name_is_safe_to_print(tmp_path):
    head().save(tmp_path / "me")
    broken_json(lambda content: content.update(name="\x1b[31mred\n" + "x" * 500))(tmp_path / "me")
    name = load_subject("me", tmp_path).name
    assert name.isprintable()
    assert len(name) <= 80


def test_missing_folder_is_told():
    with pytest.raises(SubjectError, match="no such folder; bciigl subject fit"):
        load_subject("nobody")


def test_arma_orders_may_be_higher():
    noise = NoiseParameters(**{**head().noise.model_dump(), "auto_reg_rho": (0.4, 0.2)})
    assert noise.auto_reg_rho == (0.4, 0.2)
