// Which version of Burnish a program is of: what its --version says, and what it tells others over
// the network (proto/protocol.h).
#ifndef BASE_VERSION_H_
#define BASE_VERSION_H_

namespace burnish {

// MAJOR.MINOR.PATCH of the next or the last tag; CHANGELOG.md says what each holds.
inline constexpr char kBurnishVersion[] = "0.2.0";

}  // namespace burnish

#endif  // BASE_VERSION_H_
