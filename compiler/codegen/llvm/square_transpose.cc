#include "compiler/codegen/llvm/square_transpose.h"

#include <algorithm>
#include <utility>

#include "llvm/IR/IRBuilder.h"

namespace burnish {
namespace {

using Vectors = std::vector<llvm::Value*>;

// Of each `group` elements of two vectors one half, the first of both or the last of both: of
// group = {a0 a1 a2 a3}, {b0 b1 b2 b3} with pieces of one element a0 b0 a1 b1, as unpacking does.
llvm::Value* Unpack(llvm::IRBuilderBase& b, llvm::Value* one, llvm::Value* other, int n, int group,
                    bool last) {
  std::vector<int> mask;
  for (int begin = 0; begin < n; begin += group) {
    for (int i = 0; i < group / 2; ++i) {
      const int from = begin + (last ? group / 2 : 0) + i;
      mask.push_back(from);
      mask.push_back(n + from);
    }
  }
  return b.CreateShuffleVector(one, other, mask);
}

// Blocks of `width` elements of two vectors: first those of one, then those of the other.
llvm::Value* Blocks(llvm::IRBuilderBase& b, llvm::Value* one, llvm::Value* other, int n, int width,
                    const std::vector<int>& which) {
  std::vector<int> mask;
  for (int base : {0, n}) {
    for (int block : which) {
      for (int i = 0; i < width; ++i) mask.push_back(base + block * width + i);
    }
  }
  return b.CreateShuffleVector(one, other, mask);
}

// Of `rows`, as many as 128 bits have elements: in each 128 bits a square of its own.
Vectors TransposeWithin(llvm::IRBuilderBase& b, Vectors rows, int n) {
  const int count = static_cast<int>(rows.size());
  // Row i with row i + half, again and again: each time an element's row gains a bit of its place
  // and its place one of its row.
  for (int done = 1; done < count; done *= 2) {
    Vectors next;
    for (int i = 0; i < count / 2; ++i) {
      next.push_back(Unpack(b, rows[i], rows[i + count / 2], n, count, false));
      next.push_back(Unpack(b, rows[i], rows[i + count / 2], n, count, true));
    }
    rows = std::move(next);
  }
  return rows;
}

// Of one, two or four vectors of as many blocks: block i of all of them is vector i.
Vectors TransposeBlocks(llvm::IRBuilderBase& b, const Vectors& rows, int n, int width) {
  if (rows.size() == 1) return rows;
  if (rows.size() == 2) {
    return {Blocks(b, rows[0], rows[1], n, width, {0}), Blocks(b, rows[0], rows[1], n, width, {1})};
  }
  Vectors columns;
  for (const std::vector<int>& half : {std::vector<int>{0, 1}, {2, 3}}) {
    llvm::Value* const upper = Blocks(b, rows[0], rows[1], n, width, half);
    llvm::Value* const lower = Blocks(b, rows[2], rows[3], n, width, half);
    columns.push_back(Blocks(b, upper, lower, n, width, {0, 2}));
    columns.push_back(Blocks(b, upper, lower, n, width, {1, 3}));
  }
  return columns;
}

}  // namespace

std::vector<llvm::Value*> TransposeSquare(llvm::IRBuilderBase& builder,
                                          std::vector<llvm::Value*> rows, int element_bits) {
  const int n = static_cast<int>(rows.size());
  const int width = std::min(n, 128 / element_bits);  // Elements of a block.
  std::vector<Vectors> within;  // By block of rows; vector c has column c of each 128 bits.
  for (int first = 0; first < n; first += width) {
    within.push_back(
        TransposeWithin(builder, {rows.begin() + first, rows.begin() + first + width}, n));
  }
  Vectors columns(static_cast<size_t>(n));
  for (int c = 0; c < width; ++c) {
    Vectors part;
    for (const Vectors& block : within) part.push_back(block[static_cast<size_t>(c)]);
    const Vectors turned = TransposeBlocks(builder, part, n, width);
    for (size_t i = 0; i < turned.size(); ++i) {
      columns[i * static_cast<size_t>(width) + static_cast<size_t>(c)] = turned[i];
    }
  }
  return columns;
}

}  // namespace burnish
