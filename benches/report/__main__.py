from benches.report import main

main()
