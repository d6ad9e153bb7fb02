# find_package(Burnish) gives Burnish::burnish and Burnish::burnish_static.
get_filename_component(_burnish_lib "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
get_filename_component(_burnish_include "${CMAKE_CURRENT_LIST_DIR}/@INCLUDE_FROM_HERE@" ABSOLUTE)

if(NOT TARGET Burnish::burnish)
  find_package(Threads REQUIRED)

  add_library(Burnish::burnish SHARED IMPORTED)
  set_target_properties(Burnish::burnish PROPERTIES
    IMPORTED_LOCATION "${_burnish_lib}/libburnish.so.0"
    IMPORTED_SONAME "libburnish.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${_burnish_include}")

  add_library(Burnish::burnish_static STATIC IMPORTED)
  set_target_properties(Burnish::burnish_static PROPERTIES
    IMPORTED_LOCATION "${_burnish_lib}/libburnish.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES "CXX"
    INTERFACE_INCLUDE_DIRECTORIES "${_burnish_include}"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
endif()

set(Burnish_FOUND TRUE)
unset(_burnish_lib)
unset(_burnish_include)
