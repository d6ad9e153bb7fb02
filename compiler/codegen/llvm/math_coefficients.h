// Polynomials of math_emitter.cc, lowest power first: Chebyshev interpolation in 50 digits on the
// range that is stated, rounded to double. An error is the greatest over that range, before
// rounding.
#ifndef COMPILER_CODEGEN_LLVM_MATH_COEFFICIENTS_H_
#define COMPILER_CODEGEN_LLVM_MATH_COEFFICIENTS_H_

namespace burnish::math {

// (e^r - 1 - r) / r^2, |r| <= ln(2)/2; error 3.06e-9 of e^r, minimax for it (Lawson's iteration).
constexpr double kExp32[] = {0.49999993447560215, 0.1666652062943919, 0.04166838809269527,
                             0.008368717090860914, 0.0013814596382327373};

// The same by interpolation; error 1.56e-18.
constexpr double kExp64[] = {0.5,
                             0.1666666666666667,
                             0.04166666666666667,
                             0.008333333333325544,
                             0.0013888888888883327,
                             0.00019841269876864356,
                             2.4801587327007187e-05,
                             2.755725283351691e-06,
                             2.75572718102198e-07,
                             2.5106274733573296e-08,
                             2.0915442297780116e-09};

// (ln(1 + f) - f + f^2/2) / f^3, sqrt(1/2) <= 1 + f <= sqrt(2); error 2.96e-8.
constexpr double kLog32[] = {0.3333333112188015,   -0.2499999662693948,  0.2000073050385224,
                             -0.16667850972851767, 0.1424855126436147,   -0.12424037717650198,
                             0.1168907113745787,   -0.11494546612890219, 0.06980701958664974};

// (2 atanh(s) - 2 s) / s^3 in s^2 <= 0.0296; error 2.17e-18.
constexpr double kLog64[] = {0.6666666666666666,  0.4000000000000091,  0.2857142857078221,
                             0.22222222396552982, 0.18181795124476754, 0.15386267672882226,
                             0.1326802614042874,  0.13094416666525344};

// erf(x) / x - 1 in x^2 <= 1; error 1.21e-9 of erf(x) / x. This and the next two are minimax for
// the error that reaches the result (Lawson's iteration), in 40 digits.
constexpr double kErf32[] = {0.12837916572659816,   -0.37612625823455362,  0.11283585139781378,
                             -0.026853811565761576, 0.0051883269836881758, -0.00080101874585335592,
                             7.8538409949311476e-05};

// ln(erfc(x)) / x in 1 <= x <= 4; error 2.43e-9 of erf(x).
constexpr double kErfc32[] = {-1.1284756241270764,  -0.63584623739392156,   -0.10509688722295818,
                              0.022786229844364504, -0.0031831634795370192, 0.00021018788174145533};

// e^r, |r| <= ln(2)/2, for erfc where it is at most 0.16; error 7.49e-8.
constexpr double kErfcExp32[] = {1.0000000716491153,  0.99999969174435408,  0.49998894888771496,
                                 0.16667575569114229, 0.041915378851886645, 0.0082975985311745852};

// log2(erfc(x)) / x in 0 <= x; error 1.60e-8 of erfc(x), minimax for it. Negative and falling on
// beyond, where erfc is 0 in floats.
constexpr double kLog2Erfc32[] = {
    -1.6279085930565698,    -0.9184163933343434,   -0.14848161473684557,  0.028253680414573233,
    -0.0007746289778020362, -0.001489441995144837, 0.0004455077412114989, -4.535860763049169e-05};

// 2^r, |r| <= 1/2; error 1.86e-9, minimax.
constexpr double kExp2_32[] = {1.0000000005541703,    0.6931472057374258,   0.24022646890610283,
                               0.05550328776616805,   0.009618488958443928, 0.0013399931360999692,
                               0.00015345811977945435};

// (sin(r) - r) / r^3 in r^2 <= (pi/4)^2; error 1.33e-20.
constexpr double kSin[] = {-0.16666666666666666,  0.008333333333333331,    -0.0001984126984126457,
                           2.755731921895673e-06, -2.5052106100926675e-08, 1.605851097953535e-10,
                           -7.58549250782124e-13};

// (cos(r) - 1 + r^2/2) / r^4 in r^2 <= (pi/4)^2; error 7.4e-22.
constexpr double kCos[] = {0.041666666666666664,  -0.0013888888888888887, 2.480158730158437e-05,
                           -2.75573192211902e-07, 2.0876755717957296e-09, -1.147044941240971e-11,
                           4.745202155702359e-14};

// ln(2) in two parts: an exponent times the first one is exact.
constexpr double kLn2High32 = 0.693359375, kLn2Low32 = -2.12194440054690583e-4;
constexpr double kLn2High64 = 0x1.62e42feep-1, kLn2Low64 = 0x1.a39ef35793c76p-33;

// pi/2 in four parts: up to 2^28 of the first three are exact.
constexpr double kHalfPi[] = {0x1.921fb5p+0, 0x1.110b46p-26, 0x1.1a6263p-54, 0x1.8a2e03707344ap-81};

}  // namespace burnish::math

#endif  // COMPILER_CODEGEN_LLVM_MATH_COEFFICIENTS_H_
