"""Pillow's ``Image.resize`` as ONNX operators, for uint8 pixels of any size: ONNX functions in ONNX's text form.

Two passes, one for each axis, rounded to uint8 between. A pass gives a target pixel the weighted mean of the source
pixels within the filter's reach; the reach grows by the factor of a reduction, and is cut and renormalized at the
border. Weights are multiples of 2**-22. Both axes as Pillow does them: height first if it loses pixels, and more than
twice as many as the width does, else width first (Pillow before 13: width first, always).

Why these operators, measured on 50 odd sizes of noise, and on 3000x4000 -> 256x341 (bicubic) with one thread:

- ``Resize`` with ``antialias=1`` is up to 20 grey levels off (uint8) and, with float, does not clip between the passes.
- Two dense ``MatMul`` are within 1, take 0.36 s natively and 2.6 s in WASM, and turn 36 MB of pixels into 144 MB.
- A ``Loop`` over the filter's taps, each a ``Gather`` of whole rows and a multiply-add, takes 0.25 s natively and 1.1 s
  in WASM, and is never wider than uint8 where the picture is large.

float64, which Pillow computes weights in, has no kernel in ONNX Runtime's WebGPU build, and float32 is too coarse for
exact halves. So all is whole numbers, which hold for sides up to 12,000 pixels; only sines are float. Where a source
pixel lies exactly on an edge, which only "nearest" and "box" can notice, Pillow's own rounding decides: there this may
take the neighbour (never when the target size is odd).
"""

from __future__ import annotations

DOMAIN = "edgeinfer.preprocessing"

NEAREST = 0

_SINES = """pi = Constant <value = float {3.14159265}> ()
  one = Constant <value = float {1.0}> ()
  zero_float = Constant <value = float {0.0}> ()
  apart_float = Cast <to = 1> (apart)
  unit_float = Cast <to = 1> (unit)
  x = Div (apart_float, unit_float)
  middle = Equal (apart, zero)
  safe = Where (middle, one, x)
  u = Mul (safe, pi)
  sin_u = Sin (u)
  sinc = Div (sin_u, u)
"""
_SINES_WHOLE = """
  lobes = Where (reached, windowed, zero_float)
  curve = Where (middle, one, lobes)
  precise = Constant <value = float {1073741824.0}> ()
  large = Mul (curve, precise)
  whole = Round (large)
  value = Cast <to = 7> (whole)
"""

#: Pillow's number -> (twice the filter's support, the filter: ``value``, up to a factor, at ``apart`` / ``unit`` pixels
#: from its center; all int64).
FILTERS = {
    1: (
        6,
        _SINES
        + """third = Constant <value = float {0.33333333}> ()
  v = Mul (u, third)
  sin_v = Sin (v)
  sinc_v = Div (sin_v, v)
  windowed = Mul (sinc, sinc_v)
  far = Div (t, i3)
  reached = Less (far, unit)"""
        + _SINES_WHOLE,
    ),
    2: (2, "rest = Sub (unit, t) value = Max (rest, zero)"),
    # a = -0.5, times 2: 3t^3 - 5t^2 + 2 up to 1, -t^3 + 5t^2 - 8t + 4 up to 2.
    3: (
        4,
        """i4 = Constant <value = int64 {4}> ()
  i5 = Constant <value = int64 {5}> ()
  i8 = Constant <value = int64 {8}> ()
  u5 = Mul (unit, i5)
  u3 = Mul (t, i3)
  near_1 = Sub (u3, u5)
  near_2 = Mul (near_1, t)
  near_3 = Mul (near_2, t)
  square = Mul (unit, unit)
  cube = Mul (square, unit)
  cube_2 = Add (cube, cube)
  near = Add (near_3, cube_2)
  far_1 = Sub (u5, t)
  far_2 = Mul (far_1, t)
  square_8 = Mul (square, i8)
  far_3 = Sub (far_2, square_8)
  far_4 = Mul (far_3, t)
  cube_4 = Mul (cube, i4)
  far = Add (far_4, cube_4)
  unit_2 = Add (unit, unit)
  is_far = Less (t, unit_2)
  is_near = Less (t, unit)
  outer = Where (is_far, far, zero)
  value = Where (is_near, near, outer)""",
    ),
    4: (
        1,
        """i1 = Constant <value = int64 {1}> ()
  apart_2 = Add (apart, apart)
  left = Neg (unit)
  inside = Greater (apart_2, left)
  past = Greater (apart_2, unit)
  not_past = Not (past)
  both = And (inside, not_past)
  value = Where (both, i1, zero)""",
    ),
    5: (
        2,
        _SINES
        + """w0 = Constant <value = float {0.54}> ()
  w1 = Constant <value = float {0.46}> ()
  cos_u = Cos (u)
  wave = Mul (cos_u, w1)
  window = Add (w0, wave)
  windowed = Mul (sinc, window)
  reached = Less (t, unit)"""
        + _SINES_WHOLE,
    ),
}


def resize_functions(resample: int, opset: int) -> str:
    """The functions: ``Resize (pixels, height, width)`` and what it is made of.

    ``pixels`` is uint8 [batch_size, height, width, channels]; ``height`` and ``width`` of the target are int64 [1].

    Args:
        resample: Pillow's number: 0 nearest, 1 Lanczos, 2 bilinear, 3 bicubic, 4 box, 5 Hamming.
        opset: ONNX's, 13 or newer.
    """
    head = f'<domain: "{DOMAIN}", opset_import: ["": {opset}, "{DOMAIN}": 1]>\n'
    bodies = [_NEAREST, _RESIZE]
    if resample != NEAREST:
        doubled_support, body = FILTERS[resample]
        window = _WINDOW.replace("SUPPORT", str(doubled_support))
        bodies = [_FILTER.replace("BODY", body), _FIXED_POINT, window, _RESAMPLE, _RESIZE]
    return "\n".join(f"{head}{body}" for body in bodies).replace("DOMAIN", DOMAIN)


_FILTER = """Filter (apart, unit) => (value) {
  zero = Constant <value = int64 {0}> ()
  i3 = Constant <value = int64 {3}> ()
  t = Abs (apart)
  BODY
}"""

# Pixel p of the source is at (2p+1)/2, pixel t of the target at (2t+1)/2 * source/target there: over a denominator of
# twice the target both are whole numbers. index and weight are [taps, target].
_WINDOW = """Window (source_1, target_1) => (index, weight) {
  i0 = Constant <value = int64 {0}> ()
  i1 = Constant <value = int64 {1}> ()
  i2 = Constant <value = int64 {2}> ()
  rows = Constant <value_ints = [0]> ()
  columns = Constant <value_ints = [1]> ()
  doubled_support = Constant <value = int64 {SUPPORT}> ()
  source = Squeeze (source_1)
  target = Squeeze (target_1)
  larger = Max (source, target)
  reach = Mul (doubled_support, larger)
  targets = Range (i0, target, i1)
  targets_2 = Mul (targets, i2)
  targets_odd = Add (targets_2, i1)
  center = Mul (targets_odd, source)
  target_2 = Mul (target, i2)
  edge = Sub (center, reach)
  edge_rounded = Add (edge, target)
  edge_pixel = Div (edge_rounded, target_2)
  first = Max (edge_pixel, i0)
  whole_taps = Div (reach, target)
  taps = Add (whole_taps, i1)
  tap_row = Range (i0, taps, i1)
  tap = Unsqueeze (tap_row, columns)
  position = Add (first, tap)
  position_2 = Mul (position, i2)
  position_odd = Add (position_2, i1)
  place = Mul (position_odd, target)
  apart = Sub (place, center)
  unit = Mul (larger, i2)
  value = DOMAIN.Filter (apart, unit)
  exists = Less (position, source)
  cut = Where (exists, value, i0)
  total = ReduceSum <keepdims = 1> (cut, rows)
  weight = DOMAIN.FixedPoint (cut, total)
  last = Sub (source, i1)
  index = Min (position, last)
}"""

# 2**22 * value / total, rounded, as a long division of two digits: one product would not fit into 64 bits.
_FIXED_POINT = """FixedPoint (value, total) => (weight) {
  digit = Constant <value = int64 {2048}> ()
  sign = Sign (value)
  size = Abs (value)
  size_1 = Mul (size, digit)
  high = Div (size_1, total)
  taken = Mul (high, total)
  rest = Sub (size_1, taken)
  rest_1 = Mul (rest, digit)
  rest_2 = Add (rest_1, rest_1)
  rounded = Add (rest_2, total)
  total_2 = Add (total, total)
  low = Div (rounded, total_2)
  high_1 = Mul (high, digit)
  both = Add (high_1, low)
  signed = Mul (both, sign)
  weight = Cast <to = 6> (signed)
}"""

# Along the first axis, whose rows lie together in memory.
_RESAMPLE = """Resample (pixels, target) => (resampled) {
  b0 = Constant <value_ints = [0]> ()
  b1 = Constant <value_ints = [1]> ()
  b4 = Constant <value_ints = [4]> ()
  new_axes = Constant <value_ints = [2, 3, 4]> ()
  shape = Shape (pixels)
  source = Slice (shape, b0, b1)
  index, weight_2d = DOMAIN.Window (source, target)
  weight = Unsqueeze (weight_2d, new_axes)
  index_shape = Shape (index)
  taps_1 = Slice (index_shape, b0, b1)
  taps = Squeeze (taps_1)
  rest = Slice (shape, b1, b4)
  new_shape = Concat <axis = 0> (target, rest)
  half = Constant <value = int32 {2097152}> ()
  start = Expand (half, new_shape)
  sum = Loop (taps, , start) <body = one_tap (int64 i, bool go, int32[t, b, o, c] before)
                                  => (bool on, int32[t, b, o, c] after) {
    on = Identity (go)
    row = Gather <axis = 0> (index, i)
    row_weight = Gather <axis = 0> (weight, i)
    taken = Gather <axis = 0> (pixels, row)
    wide = Cast <to = 6> (taken)
    weighted = Mul (wide, row_weight)
    after = Add (before, weighted)
  }>
  unit = Constant <value = int32 {4194304}> ()
  darkest = Constant <value = int32 {0}> ()
  lightest = Constant <value = int32 {255}> ()
  positive = Max (sum, darkest)
  mean = Div (positive, unit)
  clipped = Min (mean, lightest)
  resampled = Cast <to = 2> (clipped)
}"""

_NEAREST = """Resample (pixels, target_1) => (resampled) {
  i0 = Constant <value = int64 {0}> ()
  i1 = Constant <value = int64 {1}> ()
  i2 = Constant <value = int64 {2}> ()
  b0 = Constant <value_ints = [0]> ()
  b1 = Constant <value_ints = [1]> ()
  shape = Shape (pixels)
  source_1 = Slice (shape, b0, b1)
  source = Squeeze (source_1)
  target = Squeeze (target_1)
  targets = Range (i0, target, i1)
  targets_2 = Mul (targets, i2)
  targets_odd = Add (targets_2, i1)
  center = Mul (targets_odd, source)
  target_2 = Mul (target, i2)
  index = Div (center, target_2)
  resampled = Gather <axis = 0> (pixels, index)
}"""

_RESIZE = """Resize (pixels, height, width) => (resized) {
  b1 = Constant <value_ints = [1]> ()
  b2 = Constant <value_ints = [2]> ()
  b3 = Constant <value_ints = [3]> ()
  zero = Constant <value = int64 {0}> ()
  shape = Shape (pixels)
  old_height = Slice (shape, b1, b2)
  old_width = Slice (shape, b2, b3)
  rows_lost = Sub (old_height, height)
  columns_lost = Sub (old_width, width)
  columns_lost_2 = Add (columns_lost, columns_lost)
  loses_rows = Greater (rows_lost, zero)
  loses_most_rows = Greater (rows_lost, columns_lost_2)
  height_first_1 = And (loses_rows, loses_most_rows)
  height_first = Squeeze (height_first_1)
  first = Where (height_first_1, height, width)
  second = Where (height_first_1, width, height)
  turned = If (height_first) <
    then_branch = rows_in_front () => (uint8[s1, b1, o1, c1] h) { h = Transpose <perm = [1, 0, 2, 3]> (pixels) },
    else_branch = columns_in_front () => (uint8[s2, b2, o2, c2] w) { w = Transpose <perm = [2, 0, 1, 3]> (pixels) }>
  once = DOMAIN.Resample (turned, first)
  turned_again = Transpose <perm = [2, 1, 0, 3]> (once)
  twice = DOMAIN.Resample (turned_again, second)
  resized = If (height_first) <
    then_branch = from_columns () => (uint8[s3, b3, o3, c3] p) { p = Transpose <perm = [1, 2, 0, 3]> (twice) },
    else_branch = from_rows () => (uint8[s4, b4, o4, c4] q) { q = Transpose <perm = [1, 0, 2, 3]> (twice) }>
}"""
