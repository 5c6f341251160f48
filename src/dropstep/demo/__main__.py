"""python -m dropstep.demo."""

from dropstep.demo.comparison import main

if __name__ == "__main__":
    main()
