/* Does a set of flags build and run here at all? */
int main(void) {
    return 0;
}
