/* Stands for llama.cpp's CUDA kernels: a module that needs the libraries of the CUDA toolkit and of the driver, and finds no
   device. The structures are those of version 3 of ggml's interface for modules (ggml-backend-impl.h). */

#include <stddef.h>

int cudaGetDeviceCount(int *count); /* of libcudart.so.13 */
int cuInit(unsigned flags);         /* of libcuda.so.1 */

struct registry;

struct registry_interface {
    const char *(*get_name)(struct registry *registry);
    size_t (*get_device_count)(struct registry *registry);
    void *(*get_device)(struct registry *registry, size_t index);
    void *(*get_proc_address)(struct registry *registry, const char *name);
};

struct registry {
    int api_version;
    struct registry_interface interface;
    void *context;
};

static const char *get_name(struct registry *registry) {
    (void)registry;
    return "CUDA";
}

static size_t get_device_count(struct registry *registry) {
    int count = 0;
    (void)registry;
    return cuInit(0) == 0 && cudaGetDeviceCount(&count) == 0 ? (size_t)count : 0;
}

static void *get_device(struct registry *registry, size_t index) {
    (void)registry;
    (void)index;
    return NULL;
}

static void *get_proc_address(struct registry *registry, const char *name) {
    (void)registry;
    (void)name;
    return NULL;
}

static struct registry cuda = {3, {get_name, get_device_count, get_device, get_proc_address}, NULL};

struct registry *ggml_backend_init(void) {
    return &cuda;
}

int ggml_backend_score(void) {
    return 1;
}
