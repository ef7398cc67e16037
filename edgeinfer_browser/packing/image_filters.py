"""The filters of Pillow's ``Image.resize`` as bodies of an ONNX function, in ONNX's text form.

Each gives a weight, up to a factor that normalizing takes out. Lanczos is a sinc in the window of one three times as
wide; bicubic is cubic convolution with a = -0.5 (Keys 1981); Hamming is a sinc of one lobe in the window
0.54 + 0.46 cos.
"""

from __future__ import annotations

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

#: The function around a body, which replaces ``BODY``: ``apart`` and ``unit`` are int64, so is ``value``.
FILTER = """Filter (apart, unit) => (value) {
  zero = Constant <value = int64 {0}> ()
  i3 = Constant <value = int64 {3}> ()
  t = Abs (apart)
  BODY
}"""
