// Runs a program behind a process that serves: at the kernel's idle priority, stopped while a call
// of the server runs, and with a share of the CPUs in the long run. What burnish-launcher is with
// --pace. Free of Abseil.
#ifndef BASE_PACER_H_
#define BASE_PACER_H_

namespace burnish {

struct PacerOptions {
  const char* page_path = nullptr;  // See pace_page.h; the program's environment names it.
  double share = 0.1;               // Of the CPUs that this process may use; > 0, at most 1.
};

// Starts argv[0] with the rest as its arguments, and waits for its end. SIGINT and SIGTERM are
// passed on; from then on nothing is stopped, so that it can come to its end. All that it leaves
// behind is killed. Returns its exit code, or ends by its signal. A message: it was not started.
const char* RunPaced(const PacerOptions& options, char** argv, int* exit_code);

}  // namespace burnish

#endif  // BASE_PACER_H_
