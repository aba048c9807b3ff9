"""The numbers that the paper reports (Ma, Zeng, Xiong, Xu, Cao, Liu, Yao: Tables 1 and 2)."""

from typing import NamedTuple


class Spread(NamedTuple):
    """A row of Table 1: seconds until the held-out error is below 0.15."""

    least: float
    mean: float
    most: float
    deviation: float


class Retrieved(NamedTuple):
    """A row of Table 2: MAP and precision@60 with 5 % and with 10 % of the answers reversed."""

    map_5: float
    precision_5: float
    map_10: float
    precision_10: float


# Methods that are missing here have a dash in the paper: they did not reach the target within the paper's budget.
TABLE1: dict[str, dict[str, Spread]] = {
    "gnmds": {
        "batch": Spread(4.3760, 4.7466, 5.4570, 0.2966),
        "SVRG": Spread(6.5280, 7.9204, 9.5780, 0.8233),
        "SVRG-SBB_0": Spread(0.5120, 0.6398, 0.8360, 0.0719),
        "SVRG-SBB_eps-1": Spread(0.7260, 0.9119, 1.1550, 0.1024),
        "SVRG-SBB_eps-5": Spread(0.4210, 0.5298, 0.6720, 0.0615),
        "SVRG-SBB_eps-10": Spread(0.4010, 0.4810, 0.6140, 0.0553),
        "SVRG-SBB_eps-20": Spread(0.3800, 0.4581, 0.5730, 0.0535),
        "SVRG-SBB_eps-50": Spread(0.4423, 0.5162, 0.6427, 0.0548),
        "SVRG-SBB_eps-100": Spread(0.7657, 1.0431, 1.3730, 0.1405),
    },
    "ckl": {
        "batch": Spread(2.4600, 2.5075, 2.6490, 0.0346),
        "SGD": Spread(1.8360, 2.4086, 3.4120, 0.3210),
        "SVRG": Spread(2.0620, 2.4075, 2.9720, 0.1910),
        "SVRG-SBB_0": Spread(0.5130, 0.7010, 1.1740, 0.1183),
        "SVRG-SBB_eps-1": Spread(1.0180, 1.1720, 1.4290, 0.0929),
        "SVRG-SBB_eps-5": Spread(0.6130, 0.7093, 0.8680, 0.0512),
        "SVRG-SBB_eps-10": Spread(0.5490, 0.6484, 0.7920, 0.0499),
        "SVRG-SBB_eps-20": Spread(0.5250, 0.6176, 0.7560, 0.0490),
        "SVRG-SBB_eps-100": Spread(0.5172, 0.6013, 0.7433, 0.0478),
        "SVRG-SBB_eps-200": Spread(1.1380, 1.3083, 1.7200, 0.1120),
    },
    "ste": {
        "batch": Spread(3.4520, 3.5765, 3.7310, 0.0676),
        "SGD": Spread(5.8640, 6.6043, 6.7690, 0.2123),
        "SVRG": Spread(2.7930, 3.2328, 3.9710, 0.2521),
        "SVRG-SBB_0": Spread(0.4580, 0.6644, 0.8630, 0.0880),
        "SVRG-SBB_eps-1": Spread(0.9100, 1.0656, 1.3040, 0.0803),
        "SVRG-SBB_eps-5": Spread(0.5350, 0.6354, 0.7700, 0.0492),
        "SVRG-SBB_eps-10": Spread(0.4920, 0.5814, 0.7340, 0.0511),
        "SVRG-SBB_eps-20": Spread(0.4610, 0.5511, 0.6740, 0.0447),
        "SVRG-SBB_eps-100": Spread(0.4600, 0.5414, 0.6618, 0.0501),
        "SVRG-SBB_eps-200": Spread(0.9259, 1.1346, 1.3449, 0.0854),
    },
    "tste": {
        "batch": Spread(6.3860, 6.9228, 7.6280, 0.4334),
        "SGD": Spread(5.7110, 7.9055, 9.2990, 0.9766),
        "SVRG": Spread(2.8340, 3.4525, 4.3140, 0.3741),
        "SVRG-SBB_0": Spread(0.4360, 0.7962, 4.3630, 0.8396),
        "SVRG-SBB_eps-1": Spread(0.5100, 0.5935, 0.7660, 0.0628),
        "SVRG-SBB_eps-5": Spread(0.2930, 0.3541, 0.4520, 0.0362),
        "SVRG-SBB_eps-10": Spread(0.3070, 0.3590, 0.4740, 0.0412),
        "SVRG-SBB_eps-20": Spread(0.3120, 0.4104, 0.5310, 0.0454),
        "SVRG-SBB_eps-50": Spread(0.3319, 0.4421, 0.5641, 0.0468),
        "SVRG-SBB_eps-100": Spread(0.4973, 0.5802, 0.7531, 0.0593),
    },
}

# Rows of the paper's Table 1 that have a dash instead of numbers.
TABLE1_DASHES: dict[str, tuple[str, ...]] = {
    "gnmds": ("cvx", "SGD"),
    "ckl": ("cvx",),
    "ste": ("cvx",),
    "tste": ("cvx",),
}

TABLE2: dict[str, dict[str, Retrieved]] = {
    "gnmds": {
        "cvx": Retrieved(0.0259, 0.0712, 0.0255, 0.0694),
        "batch": Retrieved(0.0474, 0.1326, 0.0386, 0.1119),
        "SGD": Retrieved(0.3120, 0.4606, 0.1865, 0.3359),
        "SVRG": Retrieved(0.3460, 0.4949, 0.2112, 0.3631),
        "SVRG-SBB_0": Retrieved(0.4659, 0.5783, 0.2971, 0.4408),
        "SVRG-SBB_eps-1": Retrieved(0.4861, 0.5993, 0.3085, 0.4533),
        "SVRG-SBB_eps-5": Retrieved(0.4861, 0.5995, 0.3085, 0.4536),
        "SVRG-SBB_eps-10": Retrieved(0.4867, 0.5998, 0.3083, 0.4534),
        "SVRG-SBB_eps-20": Retrieved(0.4872, 0.6005, 0.3085, 0.4535),
    },
    "ckl": {
        "cvx": Retrieved(0.0258, 0.0704, 0.0260, 0.0711),
        "batch": Retrieved(0.0376, 0.1087, 0.0338, 0.0992),
        "SGD": Retrieved(0.4830, 0.5926, 0.1765, 0.3192),
        "SVRG": Retrieved(0.5445, 0.6450, 0.2149, 0.3623),
        "SVRG-SBB_0": Retrieved(0.4662, 0.5793, 0.2037, 0.3547),
        "SVRG-SBB_eps-1": Retrieved(0.5645, 0.6525, 0.2805, 0.4270),
        "SVRG-SBB_eps-5": Retrieved(0.5652, 0.6532, 0.2809, 0.4273),
        "SVRG-SBB_eps-10": Retrieved(0.5653, 0.6533, 0.2810, 0.4274),
        "SVRG-SBB_eps-20": Retrieved(0.5653, 0.6533, 0.2810, 0.4274),
    },
    "ste": {
        "cvx": Retrieved(0.0257, 0.0707, 0.0262, 0.0722),
        "batch": Retrieved(0.0304, 0.0881, 0.0306, 0.0874),
        "SGD": Retrieved(0.2820, 0.4261, 0.1948, 0.3391),
        "SVRG": Retrieved(0.5265, 0.6302, 0.3783, 0.5105),
        "SVRG-SBB_0": Retrieved(0.4637, 0.5799, 0.0070, 0.0555),
        "SVRG-SBB_eps-1": Retrieved(0.6387, 0.7147, 0.4584, 0.5730),
        "SVRG-SBB_eps-5": Retrieved(0.6362, 0.7129, 0.4568, 0.5719),
        "SVRG-SBB_eps-10": Retrieved(0.6359, 0.7127, 0.4566, 0.5719),
        "SVRG-SBB_eps-20": Retrieved(0.6358, 0.7126, 0.4565, 0.5717),
    },
    "tste": {
        "cvx": Retrieved(0.0257, 0.0695, 0.0261, 0.0704),
        "batch": Retrieved(0.0270, 0.0736, 0.0273, 0.0751),
        "SGD": Retrieved(0.3864, 0.5074, 0.2381, 0.3742),
        "SVRG": Retrieved(0.7198, 0.7746, 0.5241, 0.6221),
        "SVRG-SBB_0": Retrieved(0.0070, 0.0555, 0.0070, 0.0555),
        "SVRG-SBB_eps-1": Retrieved(0.8861, 0.9034, 0.6859, 0.7431),
        "SVRG-SBB_eps-5": Retrieved(0.8898, 0.9030, 0.6865, 0.7437),
        "SVRG-SBB_eps-10": Retrieved(0.8866, 0.9000, 0.6854, 0.7432),
        "SVRG-SBB_eps-20": Retrieved(0.8846, 0.8995, 0.6847, 0.7426),
    },
}
