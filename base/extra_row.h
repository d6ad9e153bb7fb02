// Rows beside those that a table has in its own file. A static object of a program adds one before
// main:
//
//   const ExtraRow<Algorithm> kMine({.name = "mine", ..});
//
// So a program tries an algorithm, a primitive or a rule without an edit of the table. Rows are
// never added later, so that reading them needs no lock.
#ifndef BASE_EXTRA_ROW_H_
#define BASE_EXTRA_ROW_H_

#include <vector>

namespace burnish {

template <typename Row>
class ExtraRow {
 public:
  explicit ExtraRow(Row row) : row_(row), next_(first_) { first_ = this; }
  ExtraRow(const ExtraRow&) = delete;
  ExtraRow& operator=(const ExtraRow&) = delete;

  // In no order that means anything.
  static std::vector<const Row*> All() {
    std::vector<const Row*> rows;
    for (const ExtraRow* at = first_; at != nullptr; at = at->next_) rows.push_back(&at->row_);
    return rows;
  }

 private:
  const Row row_;
  const ExtraRow* const next_;
  // A constant before any object is made: the order of static objects does not matter.
  inline static constinit const ExtraRow* first_ = nullptr;
};

}  // namespace burnish

#endif  // BASE_EXTRA_ROW_H_
