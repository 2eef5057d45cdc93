//! The units that convert into each other.

/// Units of one kind.
pub(crate) struct Kind {
    /// Quantity that the units measure.
    pub(crate) name: &'static str,
    pub(crate) units: &'static [KnownUnit],
}

/// A unit with its spellings. The size is in the smallest unit that makes all sizes of its kind integers. The shift is
/// added to a number before that counts (temperatures only).
pub(crate) struct KnownUnit {
    pub(crate) size: f64,
    pub(crate) shift: f64,
    pub(crate) names: &'static [&'static str],
}

const fn unit(size: f64, names: &'static [&'static str]) -> KnownUnit {
    KnownUnit { size, shift: 0.0, names }
}

const fn degree(size: f64, shift: f64, names: &'static [&'static str]) -> KnownUnit {
    KnownUnit { size, shift, names }
}

/// All kinds. The sizes are exact for units that are defined by others, such as the inch of 25.4 mm. Months, years,
/// horsepower, psi and other units without a single exact size are excluded. Lower-case spellings with three letters or
/// more match in any case and in the plural.
pub(crate) const KINDS: &[Kind] = &[
    Kind {
        name: "share",
        units: &[
            unit(1.0, &["ppm"]),
            unit(100.0, &["bp", "bps", "basis point", "基点"]),
            unit(1e3, &["‰", "permille"]),
            unit(1e4, &["%", "percent", "per cent", "pct", "\\%", "个百分点", "百分点", "percentage point"]),
            unit(1e6, &["1", "fraction", "ratio", "share"]),
        ],
    },
    // In nanometres.
    Kind {
        name: "length",
        units: &[
            unit(1.0, &["nm", "nanometer", "nanometre", "纳米"]),
            unit(1e3, &["µm", "μm", "um", "micrometer", "micrometre", "micron", "微米"]),
            unit(1e6, &["mm", "millimeter", "millimetre", "毫米"]),
            unit(1e7, &["cm", "centimeter", "centimetre", "厘米", "公分"]),
            unit(1e8, &["dm", "decimeter", "decimetre", "分米"]),
            unit(1e9, &["m", "meter", "metre", "米", "公尺"]),
            unit(1e12, &["km", "Km", "KM", "kilometer", "kilometre", "千米", "公里"]),
            unit(2.54e7, &["in", "inch", "inches", "英寸"]),
            unit(3.048e8, &["ft", "foot", "feet", "英尺"]),
            unit(9.144e8, &["yd", "yds", "yard", "码"]),
            unit(1.609344e12, &["mi", "mile", "英里"]),
            unit(1.852e12, &["nmi", "nautical mile", "海里"]),
            unit(5e11, &["里", "华里", "市里"]),
        ],
    },
    // In nanograms.
    Kind {
        name: "mass",
        units: &[
            unit(1e3, &["µg", "μg", "ug", "microgram", "微克"]),
            unit(1e6, &["mg", "milligram", "毫克"]),
            unit(1e9, &["g", "gram", "克"]),
            unit(1e12, &["kg", "kgs", "Kg", "KG", "kilogram", "kilo", "千克", "公斤"]),
            unit(1e15, &["t", "ton", "tonne", "吨"]),
            unit(28_349_523_125.0, &["oz", "ounce", "盎司"]),
            unit(453_592_370_000.0, &["lb", "lbs", "pound", "磅"]),
            unit(6_350_293_180_000.0, &["stone", "英石"]),
            unit(5e11, &["斤", "市斤"]),
        ],
    },
    // In nanoseconds.
    Kind {
        name: "time",
        units: &[
            unit(1.0, &["ns", "nanosecond", "纳秒"]),
            unit(1e3, &["µs", "μs", "us", "microsecond", "微秒"]),
            unit(1e6, &["ms", "millisecond", "毫秒"]),
            unit(1e9, &["s", "sec", "second", "秒", "秒钟"]),
            unit(6e10, &["min", "minute", "分钟"]),
            unit(3.6e12, &["h", "hr", "hrs", "hour", "小时", "个小时"]),
            unit(8.64e13, &["d", "day", "天"]),
            unit(6.048e14, &["wk", "week", "周", "星期", "个星期"]),
        ],
    },
    // In 1/9 of a kelvin; the shift makes degrees Celsius the same size.
    Kind {
        name: "temperature",
        units: &[
            degree(
                9.0,
                0.0,
                &["°C", "℃", "ºC", "C", "celsius", "degree celsius", "degrees celsius", "摄氏度"],
            ),
            degree(
                5.0,
                -32.0,
                &["°F", "℉", "ºF", "F", "fahrenheit", "degree fahrenheit", "degrees fahrenheit", "华氏度"],
            ),
            degree(9.0, -273.15, &["K", "kelvin", "开尔文"]),
        ],
    },
    // In 1/3 of 10⁻⁸ m², for the mu of 2000/3 m².
    Kind {
        name: "area",
        units: &[
            unit(3e2, &["mm²", "mm2", "mm^2", "平方毫米"]),
            unit(3e4, &["cm²", "cm2", "cm^2", "square centimeter", "square centimetre", "平方厘米"]),
            unit(3e6, &["dm²", "dm2", "dm^2", "平方分米"]),
            unit(3e8, &["m²", "m2", "m^2", "sq m", "sqm", "square meter", "square metre", "平方米", "平米"]),
            unit(3e12, &["ha", "hectare", "公顷"]),
            unit(
                3e14,
                &["km²", "km2", "km^2", "square kilometer", "square kilometre", "平方公里", "平方千米"],
            ),
            unit(2e11, &["亩", "mu"]),
            unit(193_548.0, &["in²", "in2", "in^2", "sq in", "square inch", "square inches"]),
            unit(27_870_912.0, &["ft²", "ft2", "ft^2", "sq ft", "sqft", "square foot", "square feet"]),
            unit(250_838_208.0, &["yd²", "yd2", "yd^2", "sq yd", "square yard"]),
            unit(1_214_056_926_720.0, &["acre", "ac", "英亩"]),
            unit(776_996_433_100_800.0, &["mi²", "mi2", "mi^2", "sq mi", "square mile", "平方英里"]),
        ],
    },
    // In 10⁻¹⁰ ml.
    Kind {
        name: "volume",
        units: &[
            unit(
                1e7,
                &["µl", "μl", "µL", "μL", "uL", "microliter", "microlitre", "mm³", "mm3", "mm^3", "微升"],
            ),
            unit(
                1e10,
                &[
                    "ml",
                    "mL",
                    "ML",
                    "milliliter",
                    "millilitre",
                    "毫升",
                    "cm³",
                    "cm3",
                    "cm^3",
                    "cc",
                    "立方厘米",
                ],
            ),
            unit(1e11, &["cl", "cL", "centiliter", "centilitre"]),
            unit(1e12, &["dl", "dL", "deciliter", "decilitre"]),
            unit(1e13, &["l", "L", "liter", "litre", "升", "公升", "dm³", "dm3", "dm^3", "立方分米"]),
            unit(1e16, &["m³", "m3", "m^3", "cubic meter", "cubic metre", "立方米"]),
            unit(163_870_640_000.0, &["in³", "in3", "in^3", "cubic inch", "cubic inches"]),
            unit(283_168_465_920_000.0, &["ft³", "ft3", "ft^3", "cubic foot", "cubic feet"]),
            // US units.
            unit(295_735_295_625.0, &["fl oz", "fluid ounce"]),
            unit(9_463_529_460_000.0, &["qt", "quart"]),
            unit(37_854_117_840_000.0, &["gal", "gallon", "加仑"]),
        ],
    },
    // In 1/9 of 10⁻⁵ m/s.
    Kind {
        name: "speed",
        units: &[
            unit(9e3, &["cm/s"]),
            unit(9e5, &["m/s", "m/sec", "mps", "meters per second", "metres per second", "米/秒", "米每秒"]),
            unit(9e8, &["km/s", "千米/秒", "公里/秒"]),
            unit(
                250_000.0,
                &[
                    "km/h",
                    "km/hr",
                    "kph",
                    "kmh",
                    "km/hour",
                    "kilometers per hour",
                    "kilometres per hour",
                    "公里/小时",
                    "千米/小时",
                    "千米/时",
                    "公里/时",
                    "公里每小时",
                    "千米每小时",
                ],
            ),
            unit(402_336.0, &["mph", "mi/h", "miles/hour", "miles per hour", "英里/小时"]),
            unit(274_320.0, &["ft/s", "feet per second"]),
            unit(463_000.0, &["kn", "kt", "knot", "节"]),
        ],
    },
    // In nanopascals, for the millimetre of mercury of 133.322387415 Pa.
    Kind {
        name: "pressure",
        units: &[
            unit(1e9, &["Pa", "pascal", "帕", "帕斯卡"]),
            unit(1e11, &["hPa", "mbar", "millibar", "hectopascal", "百帕"]),
            unit(1e12, &["kPa", "kilopascal", "千帕"]),
            unit(1e15, &["MPa", "megapascal", "兆帕"]),
            unit(1e18, &["GPa", "gigapascal", "吉帕"]),
            unit(1e14, &["bar", "巴"]),
            unit(101_325e9, &["atm", "atmosphere", "标准大气压", "个标准大气压"]),
            unit(133_322_387_415.0, &["mmHg", "毫米汞柱"]),
        ],
    },
    Kind {
        name: "force",
        units: &[
            unit(1.0, &["mN", "millinewton"]),
            unit(1e3, &["N", "newton", "牛", "牛顿"]),
            unit(1e6, &["kN", "kilonewton", "千牛"]),
            unit(1e9, &["MN", "meganewton"]),
        ],
    },
    // In millijoules; the calorie is the thermochemical one.
    Kind {
        name: "energy",
        units: &[
            unit(1.0, &["mJ", "millijoule", "毫焦"]),
            unit(1e3, &["J", "joule", "焦", "焦耳"]),
            unit(1e6, &["kJ", "kilojoule", "千焦"]),
            unit(1e9, &["MJ", "megajoule", "兆焦"]),
            unit(1e12, &["GJ", "gigajoule"]),
            unit(4184.0, &["cal", "calorie", "卡", "卡路里"]),
            unit(4_184_000.0, &["kcal", "Cal", "kilocalorie", "千卡", "大卡"]),
            unit(3.6e6, &["Wh", "watt hour", "watt-hour", "瓦时"]),
            unit(3.6e9, &["kWh", "kilowatt hour", "kilowatt-hour", "千瓦时"]),
            unit(3.6e12, &["MWh", "megawatt hour", "megawatt-hour", "兆瓦时"]),
            unit(3.6e15, &["GWh", "gigawatt hour", "gigawatt-hour"]),
        ],
    },
    Kind {
        name: "power",
        units: &[
            unit(1.0, &["mW", "milliwatt", "毫瓦"]),
            unit(1e3, &["W", "watt", "瓦", "瓦特"]),
            unit(1e6, &["kW", "kilowatt", "千瓦"]),
            unit(1e9, &["MW", "megawatt", "兆瓦"]),
            unit(1e12, &["GW", "gigawatt", "吉瓦"]),
        ],
    },
    Kind {
        name: "current",
        units: &[
            unit(1.0, &["µA", "μA", "uA", "microampere", "微安"]),
            unit(1e3, &["mA", "milliampere", "milliamp", "毫安"]),
            unit(1e6, &["A", "ampere", "amp", "安", "安培"]),
            unit(1e9, &["kA", "kiloampere"]),
        ],
    },
    Kind {
        name: "voltage",
        units: &[
            unit(1.0, &["µV", "μV", "uV", "microvolt", "微伏"]),
            unit(1e3, &["mV", "millivolt", "毫伏"]),
            unit(1e6, &["V", "volt", "伏", "伏特"]),
            unit(1e9, &["kV", "kilovolt", "千伏"]),
            unit(1e12, &["MV", "megavolt"]),
        ],
    },
    Kind {
        name: "resistance",
        units: &[
            unit(1.0, &["mΩ", "milliohm", "毫欧"]),
            unit(1e3, &["Ω", "\u{2126}", "ohm", "欧", "欧姆"]),
            unit(1e6, &["kΩ", "k\u{2126}", "kilohm", "千欧"]),
            unit(1e9, &["MΩ", "M\u{2126}", "megohm", "兆欧"]),
        ],
    },
    Kind {
        name: "frequency",
        units: &[
            unit(1.0, &["Hz", "hertz", "赫兹", "赫"]),
            unit(1e3, &["kHz", "KHz", "kilohertz", "千赫", "千赫兹"]),
            unit(1e6, &["MHz", "megahertz", "兆赫", "兆赫兹"]),
            unit(1e9, &["GHz", "gigahertz", "吉赫", "吉赫兹"]),
            unit(1e12, &["THz", "terahertz"]),
        ],
    },
    Kind {
        name: "amount of substance",
        units: &[
            unit(1.0, &["µmol", "μmol", "umol", "micromole"]),
            unit(1e3, &["mmol", "millimole", "毫摩尔"]),
            unit(1e6, &["mol", "mole", "摩尔"]),
            unit(1e9, &["kmol", "kilomole"]),
        ],
    },
    // In bits. KB, MB and so on are decimal, KiB and MiB binary.
    Kind {
        name: "data",
        units: &[
            unit(1.0, &["bit", "比特"]),
            unit(1e3, &["kbit", "kilobit"]),
            unit(1e6, &["Mbit", "Mb", "megabit"]),
            unit(1e9, &["Gbit", "Gb", "gigabit"]),
            unit(8.0, &["B", "byte", "字节"]),
            unit(8e3, &["KB", "kB", "kilobyte"]),
            unit(8e6, &["MB", "megabyte"]),
            unit(8e9, &["GB", "gigabyte"]),
            unit(8e12, &["TB", "terabyte"]),
            unit(8e15, &["PB", "petabyte"]),
            unit(8_192.0, &["KiB", "kibibyte"]),
            unit(8_388_608.0, &["MiB", "mebibyte"]),
            unit(8_589_934_592.0, &["GiB", "gibibyte"]),
            unit(8_796_093_022_208.0, &["TiB", "tebibyte"]),
        ],
    },
    Kind {
        name: "US dollar",
        units: &[
            unit(1.0, &["¢", "cent", "US cent", "美分"]),
            unit(100.0, &["$", "USD", "US$", "dollar", "US dollar", "美元", "美金"]),
        ],
    },
    Kind { name: "euro", units: &[unit(1.0, &["€", "EUR", "euro", "欧元"])] },
    Kind {
        name: "pound sterling",
        units: &[unit(1.0, &["penny", "pence"]), unit(100.0, &["£", "GBP", "pound sterling", "英镑"])],
    },
    // The sign belongs to two currencies; where it matters, use CNY or JPY.
    Kind {
        name: "yuan",
        units: &[
            unit(1.0, &["角", "毛"]),
            unit(10.0, &["¥", "CNY", "RMB", "yuan", "元", "人民币", "块", "块钱", "元人民币"]),
        ],
    },
    Kind { name: "yen", units: &[unit(1.0, &["JPY", "yen", "日元", "円"])] },
    Kind { name: "rupee", units: &[unit(1.0, &["paisa"]), unit(100.0, &["₹", "INR", "rupee", "卢比"])] },
];
