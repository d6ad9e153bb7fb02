// Polynomials of functions, lowest power first: Chebyshev interpolation in 50 digits on the
// range that is stated, rounded to double. An error is the greatest over that range, before
// rounding.
#ifndef COMPILER_CODEGEN_MATH_COEFFICIENTS_H_
#define COMPILER_CODEGEN_MATH_COEFFICIENTS_H_

#include <cstdint>

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

// (2 atanh(s) - 2 s - 2/3 s^3) / s^5 in s^2 <= 0.0295; error 8.8e-23.
constexpr double kAtanh64[] = {0.4,
                               0.2857142857142857,
                               0.22222222222222157,
                               0.1818181818184648,
                               0.15384615378380545,
                               0.13333334121530974,
                               0.11764645318928066,
                               0.10529188185582074,
                               0.094419180572752,
                               0.09971330110418046};

// erf(x) / x - 1 in x^2 <= 1; error 2.2e-21.
constexpr double kErf64[] = {
    0.1283791670955126,      -0.37612638903183754,    0.1128379167095512,
    -0.02686617064512984,    0.0052239776254232985,   -0.000854832702193483,
    0.00012055332902888736,  -1.4925647567519332e-05, 1.6462045441468418e-06,
    -1.6364642158167616e-07, 1.4792401209404812e-08,  -1.2164560057283446e-09,
    8.709045129053093e-11,   -4.2309458242953175e-12};

// (1 + 2x) e^(x^2) erfc(x) in (x - 4) / (x + 4), 0 <= x <= 28; error 2.0e-18.
constexpr double kErfcx64[] = {
    1.2329951186255526,      -0.13962111684056253,   0.015379652102619558,
    0.06809705425469323,     -0.10103906603629459,   0.09373283499833023,
    -0.0663303658124095,     0.03716751553777026,    -0.01619773405599449,
    0.005031969975753176,    -0.0007577732973669146, -0.00019925668432389153,
    0.00015062169704678355,  -2.439924428312988e-05, -1.1222046316669005e-05,
    5.709784760966506e-06,   2.9377854943443786e-07, -8.254699744871162e-07,
    7.471952780500971e-08,   1.1005996198640057e-07, -1.799947545903142e-08,
    -1.4091982822555755e-08, 1.868487385473519e-09,  1.263782858042137e-09};

// ln(2) in two parts: an exponent times the first one is exact.
constexpr double kLn2High32 = 0.693359375, kLn2Low32 = -2.12194440054690583e-4;
constexpr double kLn2High64 = 0x1.62e42feep-1, kLn2Low64 = 0x1.a39ef35793c76p-33;

// pi/2 in four parts: up to 2^28 of the first three are exact.
constexpr double kHalfPi[] = {0x1.921fb5p+0, 0x1.110b46p-26, 0x1.1a6263p-54, 0x1.8a2e03707344ap-81};

// The same for 2^20: three parts of 33 bits, and the rest.
constexpr double kHalfPi64[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69,
                                0x1.b839a252049c1p-104};

// Numbers in two doubles.
constexpr double kHalfPiPair[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
constexpr double kTwoThirds[] = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
constexpr double kRootHalf[] = {0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55};

// 2/pi in binary, after the point; a word of zeros before it.
constexpr uint64_t kTwoOverPiWords[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

}  // namespace burnish::math

#endif  // COMPILER_CODEGEN_MATH_COEFFICIENTS_H_
